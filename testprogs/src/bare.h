/* Shared by the programs that run without a C library.  */

#ifndef BARE_H
#define BARE_H

#include <stdarg.h>
#include <stddef.h>

/* Keeps a function a function: not inlined, cloned or analysed by callers.  */
#ifdef __clang__
#define OWN __attribute__ ((noinline))
#else
#define OWN __attribute__ ((noipa))
#endif

long sys_write (long fd, const void *from, size_t size);
_Noreturn void sys_exit (long status);

void put_text (const char *text);
void put_long (long value);
void report (const char *name, long value);

/* Context switches, written in assembly for each architecture (switch.S).

   mark stores the caller's state and returns 0; back makes that call of mark
   return once more, with the given value.  first leaves the running stack
   (its stack pointer goes to *SAVE) and calls BODY on the stack below TOP;
   swap leaves the running stack for the one whose pointer is TARGET.  */
long mark (long *state) __attribute__ ((returns_twice));
_Noreturn void back (long *state, long value);
void first (void **save, void *top, void (*body) (void));
void swap (void **save, void *target);

#endif
