/* libdep.so: the library that the program is linked with.  Its symbols are in a
   separate debug file.  */

#include "dep.h"

int
dep_fold (int (*each) (int), int count)
{
  volatile int sum = 0;
  int i;
  for (i = 1; i <= count; i++)
    sum += each (i);
  return sum;
}

int
dep_rest (int value)
{
  volatile int held = value % 7;
  return held;
}

extern const char __ehdr_start[] __attribute__ ((visibility ("hidden")));

long
dep_offset (void)
{
  return (const char *) dep_wrong - __ehdr_start;
}

#if defined __x86_64__
#define BODY "sub $24, %rsp\n\tnop\n\tadd $24, %rsp\n\tmov %edi, %eax\n\tret\n"
#elif defined __aarch64__
#define BODY "sub sp, sp, #32\n\tnop\n\tadd sp, sp, #32\n\tret\n"
#else
#define BODY "aghi %r15, -32\n\tnopr\n\taghi %r15, 32\n\tbr %r14\n"
#endif

/* Its name is in .symtab only.  */
__asm__ (".text\n\t.balign 16\n\t.type wrong_rows, %function\n"
         "wrong_rows:\n\t.cfi_startproc\n\t" BODY "\t.cfi_endproc\n\t"
         ".size wrong_rows, .-wrong_rows\n");

extern int wrong_rows (int value) __attribute__ ((visibility ("hidden")));

int
dep_wrong (int value)
{
  return wrong_rows (value) + 1;
}
