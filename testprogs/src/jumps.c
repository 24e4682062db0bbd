/* jumps: leaving a stack by other ways than returning.

   Stresses: setjmp and longjmp (hand-written mark and back) out of nested and
   recursive frames and to a frame level with the abandoned ones, coroutines on
   stacks of their own that lie more than 1 MiB apart, deep recursion on such a
   stack, and a jump out of frames within one coroutine.  */

#include "bare.h"

enum { STACKS = 3, SPACING = 2 << 20, USED = 64 << 10 };

static long state[32], inner[32];
static _Alignas (16) char arena[STACKS][SPACING];
static void *main_sp, *sp[STACKS];
static long passed, result[STACKS];

OWN long leaf (long a) { return a * 7 + 3; }

OWN long
dig (long n, long *where)
{
  volatile long pad[4] = { n, n, n, n };
  if (n == 0)
    {
      if (where)
        back (where, 40 + pad[1]);
      return 1;
    }
  return dig (n - 1, where) + pad[2];
}

OWN long
try_dig (long n)
{
  volatile long before = leaf (n);
  long got = mark (state);
  if (got == 0)
    return dig (n, state);
  return got + before;
}

OWN long
try_often (long n)
{
  volatile long count = 0;
  long got = mark (inner);
  count = count + leaf (got) % 5;
  if (got < n)
    back (inner, got + 1);
  return count;
}

OWN void
yield (int me, long value)
{
  passed = value;
  swap (&sp[me], main_sp);
}

OWN long
count_down (int me, long n)
{
  volatile char pad[100];
  pad[n] = n;
  if (n == 0)
    return 1;
  if (n % 4 == 0)
    yield (me, n);
  return count_down (me, n - 1) + pad[n];
}

static void
counter (void)
{
  result[0] = count_down (0, 12);
  yield (0, -1);
}

static void
squares (void)
{
  for (long i = 1; i < 4; i++)
    yield (1, leaf (i * i));
  result[1] = 5;
  yield (1, -1);
}

static void
jumper (void)
{
  static int tries;
  long got = mark (inner);
  if (++tries < 4)
    dig (2 * tries, inner);
  result[2] = got + tries;
  yield (2, -1);
}

OWN long
resume (int k)
{
  swap (&main_sp, sp[k]);
  return passed;
}

int
main (void)
{
  static void (*const bodies[STACKS]) (void) = { counter, squares, jumper };
  long sum = try_dig (5) + try_often (4);
  for (int k = 0; k < STACKS; k++)
    {
      first (&main_sp, arena[k] + USED, bodies[k]);
      sum += passed;
    }
  for (int round = 0; round < 4; round++)
    for (int k = 0; k < STACKS; k++)
      if (passed = -1, result[k] == 0)
        sum = 3 * sum + resume (k);
  for (int k = 0; k < STACKS; k++)
    sum = 3 * sum + result[k];
  report ("jumps", sum);
  return 0;
}
