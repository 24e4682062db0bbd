/* flow: control flow that moves code away from its prologue.

   Stresses: deep recursion, mutual recursion, shrink-wrapped prologues, early
   returns, cold parts split off into .text.unlikely, tail calls (direct,
   through a pointer, and between functions of different frame size), calls that
   never return at the end of a function, computed goto, jump tables, nested
   functions reached through a table of pointers, and a function that is only
   called by its recursion's deepest frame.  */

#include "bare.h"

#define RARE(x) __builtin_expect (!!(x), 0)

static long budget = 40;

OWN long leaf (long a) { return a ^ 0x55; }

OWN long
deep (long n, long a)
{
  volatile long here[3] = { n, a, n ^ a };
  if (n == 0)
    return leaf (here[1]);
  return deep (n - 1, a + here[2] % 7) + (here[0] & 3);
}

OWN long turn_left (long n, long a);

OWN long
turn_right (long n, long a)
{
  long spare[5];
  for (int i = 0; i < 5; i++)
    spare[i] = leaf (a + i);
  return n <= 0 ? spare[a & 3] : turn_left (n - 1, spare[4]) + spare[0];
}

OWN long
turn_left (long n, long a)
{
  return n <= 0 ? a : turn_right (n - 2, a + 1) - n;
}

OWN long fib (long n) { return n < 2 ? n : fib (n - 1) + fib (n - 2); }

OWN long
hanoi (int n, int from, int to, int by)
{
  if (n == 0)
    return from + 2 * to;
  return hanoi (n - 1, from, by, to) + leaf (n) + hanoi (n - 1, by, to, from);
}

/* The frame is needed on the rare way only.  */
OWN long
shrink_wrapped (long a)
{
  if (a < 10)
    return a * 3;
  long b = leaf (a), c = leaf (b + a), d = leaf (c - b);
  return a + b * c - d;
}

OWN long
two_exits (long a, long b)
{
  if (a == b)
    return 0;
  long c = leaf (a);
  if (c & 1)
    return c + b;
  long d = leaf (b);
  for (long i = 0; i < 3; i++)
    {
      if ((d ^ i) == c)
        return leaf (d);
      d += leaf (i);
    }
  return d - c;
}

__attribute__ ((cold)) OWN long
complain (long a)
{
  budget--;
  return leaf (a) - budget;
}

/* The body of the condition goes to the cold part of the function.  */
OWN long
with_cold_part (long a, long b)
{
  long c = leaf (a), d = leaf (b);
  if (RARE (c == 0x55))
    {
      long e = complain (d);
      for (long i = 0; i < 4; i++)
        e += complain (e ^ i) + c;
      return e + leaf (d);
    }
  return c * d + leaf (c + d);
}

OWN long
with_cold_alloca (long n)
{
  long *p = __builtin_alloca (n * 8 + 8);
  for (long i = 0; i < n; i++)
    p[i] = leaf (i);
  if (RARE (p[n - 1] == 0x50))
    {
      p[0] += complain (p[n - 1]);
      p[1] -= complain (p[0]);
    }
  return p[0] + p[n / 2];
}

OWN long tail_direct (long a, long b) { return shrink_wrapped (a + b); }

OWN long
tail_after_calls (long a)
{
  long b = leaf (a), c = leaf (b);
  if (b > c)
    return with_cold_part (b, c);
  return shrink_wrapped (leaf (b + c));
}

OWN long
tail_from_large_frame (long a)
{
  volatile long v[700];
  v[a & 511] = leaf (a);
  long b = v[a & 511];
  return tail_direct (b, leaf (a));
}

OWN long tail_pointer (long (*f) (long), long a) { return f (leaf (a)); }

OWN long
tail_loop (long n, long a)
{
  if (n == 0)
    return a;
  a += leaf (n);
  return tail_loop (n - 1, a);
}

OWN _Noreturn void
finish (long value)
{
  report ("flow", value);
  sys_exit (value == 0);
}

OWN long
checked (long a)
{
  if (RARE (a < 0))
    finish (a);
  return leaf (a);
}

/* A little machine: dispatch by computed goto.  */
OWN long
interpret (const unsigned char *code, long a)
{
  static const void *const labels[] = { &&stop, &&add, &&call, &&skip, &&grow };
  long b = 1;
  goto *labels[*code];
add:
  a += b;
  goto *labels[*++code];
call:
  a = shrink_wrapped (a) & 0xffff;
  goto *labels[*++code];
skip:
  code += a & 1;
  goto *labels[*++code];
grow:
  b += leaf (b) & 7;
  goto *labels[*++code];
stop:
  return a + b;
}

OWN long
choose (long kind, long a)
{
  switch (kind)
    {
    case 0: return a;
    case 1: return leaf (a);
    case 2: return leaf (a) + leaf (a + 1);
    case 3: return shrink_wrapped (a);
    case 4: a += leaf (3); break;
    case 5: return two_exits (a, 5);
    case 6: a -= fib (5); break;
    case 7: return tail_direct (a, 7);
    default: a = choose (kind & 7, a ^ 1); break;
    }
  return leaf (a);
}

OWN long
apply (long (*const *table) (long), long n, long a)
{
  for (long i = 0; i < n; i++)
    a = table[i](a) & 0xfffff;
  return a;
}

int
main (void)
{
  static const unsigned char code[] = { 1, 4, 1, 2, 3, 1, 4, 2, 1, 1, 3, 4, 1, 0 };
  static long (*const table[]) (long) = { leaf, shrink_wrapped, checked, tail_after_calls,
                                          tail_from_large_frame };
  long sum = deep (60, 5) + turn_left (21, 4) + fib (8) + hanoi (4, 1, 2, 3);
  sum += shrink_wrapped (4) + shrink_wrapped (40);
  sum += two_exits (3, 3) + two_exits (4, 3) + two_exits (5, 8) + two_exits (0x54, 1);
  sum += with_cold_part (3, 4) + with_cold_part (0, 4);
  sum += with_cold_alloca (4) + with_cold_alloca (6);
  sum += tail_after_calls (1) + tail_after_calls (200) + tail_from_large_frame (3);
  sum += tail_pointer (tail_from_large_frame, 6) + tail_loop (6, 0);
  sum += interpret (code, 5) + apply (table, 5, 9);
  for (long i = 0; i < 12; i++)
    sum += choose (i, 3 * i);
  checked (sum & 0xff);
  report ("flow so far", sum);
  checked (-(sum & 0xff) - 1);
  return 2;
}
