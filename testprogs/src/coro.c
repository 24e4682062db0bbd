/* coro: coroutines that run libc code on stacks of their own.

   Stresses: stack switches (switch.S) between the program's first stack and
   allocated ones more than 1 MiB apart; qsort callbacks that switch stacks in
   the middle of the sort; formatted output on a small stack.  */

#include <stdio.h>
#include <stdlib.h>

#include "bare.h"

enum { STACKS = 3, SPACING = 3 << 20, USED = 128 << 10 };

static void *main_sp, *sp[STACKS];
static int current, finished, compared;

OWN static void
yield (void)
{
  swap (&sp[current], main_sp);
}

OWN static int
yielding (const void *a, const void *b)
{
  if (++compared % 16 == 0)
    yield ();
  return *(const int *) a - *(const int *) b;
}

static void
sorter (void)
{
  int v[24];
  for (int i = 0; i < 24; i++)
    v[i] = i * 31 % 24;
  qsort (v, 24, sizeof v[0], yielding);
  printf ("coro: sorted %d %d %d\n", v[0], v[11], v[23]);
  finished++;
  for (;;)
    yield ();
}

OWN static long
tree (int depth)
{
  if (depth == 0)
    return 1;
  long left = tree (depth - 1);
  if (depth == 3)
    yield ();
  return left + tree (depth - 1);
}

static void
walker (void)
{
  printf ("coro: walked %ld\n", tree (5));
  finished++;
  for (;;)
    yield ();
}

static void
printer (void)
{
  for (int i = 0; i < 3; i++)
    {
      char text[40];
      snprintf (text, sizeof text, "%d-%s", i, i & 1 ? "odd" : "even");
      printf ("coro: %s\n", text);
      yield ();
    }
  finished++;
  for (;;)
    yield ();
}

int
main (void)
{
  static void (*const bodies[STACKS]) (void) = { sorter, walker, printer };
  char *stacks = malloc (STACKS * (size_t) SPACING);
  int rounds = 0;
  if (!stacks)
    return 1;
  stacks += -(size_t) stacks & 15;
  for (current = 0; current < STACKS; current++)
    first (&main_sp, stacks + current * (size_t) SPACING + USED, bodies[current]);
  for (; finished < STACKS; rounds++)
    for (current = 0; current < STACKS; current++)
      swap (&main_sp, sp[current]);
  printf ("coro: %d rounds\n", rounds);
  return 0;
}
