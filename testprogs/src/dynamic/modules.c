/* modules: a dynamic program whose stacks go through several files.

   Stresses: callbacks between program, library and C library; a plugin that is
   loaded while the program runs; the code of a library mapped by hand, as a
   just-in-time loader would, twice at one place and then of another file; code
   that runs after its file's name is gone.  It prints what each call returned.  */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dep.h"

#define SPAN 0x1000L

static int
square (int value)
{
  return value * value;
}

static int
by_rest (const void *left, const void *right)
{
  int a = *(const int *) left, b = *(const int *) right;
  return dep_rest (a) - dep_rest (b);
}

/* Map the page of FILE's code that a function at OFFSET stands in, at PLACE or
   anywhere; the function there.  */
static int (*
map_code (const char *file, long offset, void **place)) (int)
{
  int fd = open (file, O_RDONLY);
  if (fd < 0)
    exit (2);
  *place = mmap (*place, SPAN, PROT_READ | PROT_EXEC,
                 MAP_PRIVATE | (*place ? MAP_FIXED : 0), fd, offset & -SPAN);
  if (*place == MAP_FAILED)
    exit (3);
  close (fd);
  return (int (*) (int)) ((char *) *place + (offset & (SPAN - 1)));
}

int
main (void)
{
  int numbers[8] = { 15, 22, 8, 41, 30, 13, 7, 36 };
  int (*volatile rest) (int) = dep_rest;
  void *plugin, *place = NULL;
  int (*depth) (int);
  long offset;
  int i;

  printf ("fold %d\n", dep_fold (square, 10));
  qsort (numbers, 8, sizeof *numbers, by_rest);
  for (i = 0; i < 8; i++)
    printf ("%d ", numbers[i] + rest (0));
  printf ("\nwrong %d\n", dep_wrong (3));

  plugin = dlopen ("libplugin.so", RTLD_NOW);
  if (!plugin)
    return 4;
  depth = (int (*) (int)) dlsym (plugin, "plugin_depth");
  printf ("plugin %d\n", depth (5));
  offset = ((long (*) (void)) dlsym (plugin, "plugin_offset")) ();

  for (i = 0; i < 2; i++)
    printf ("mapped %d\n", map_code ("/lib/libplugin.so", offset, &place) (i));
  printf ("other %d\n", map_code ("/lib/libdep.so", dep_offset (), &place) (99));
  munmap (place, SPAN);
  printf ("wrong %d\n", dep_wrong (4));
  dlclose (plugin);
  return 0;
}
