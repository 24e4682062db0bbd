/* calls: crossings between the program and its libc.

   Stresses: callbacks through qsort and bsearch (also a qsort inside a
   comparison), variable arguments through vsnprintf, setjmp and longjmp out of
   a callback, atexit handlers, functions called through a table, deep mutual
   recursion, and a stack argument area.  */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__ ((noinline, noclone))

static int compared, nested;
static jmp_buf out;

OWN static int
plain (const void *a, const void *b)
{
  compared++;
  return *(const int *) a - *(const int *) b;
}

/* Sorts a small array of its own on every eighth comparison.  */
OWN static int
sorting (const void *a, const void *b)
{
  if (++nested % 8 == 0)
    {
      int own[5] = { 5, nested % 7, 3, 1, 4 };
      qsort (own, 5, sizeof own[0], plain);
      if (own[4] < own[0])
        abort ();
    }
  return *(const int *) b - *(const int *) a;
}

OWN static int
escaping (const void *a, const void *b)
{
  if (*(const int *) a == 13 || *(const int *) b == 13)
    longjmp (out, 13);
  return *(const int *) a - *(const int *) b;
}

OWN static int
format (char *to, size_t size, const char *how, ...)
{
  va_list list;
  va_start (list, how);
  int n = vsnprintf (to, size, how, list);
  va_end (list);
  return n;
}

OWN static long
sum_of (int n, ...)
{
  va_list list;
  long sum = 0;
  va_start (list, n);
  for (int i = 0; i < n; i++)
    sum = 2 * sum + va_arg (list, long);
  va_end (list);
  return sum;
}

OWN static long
many (long a, long b, long c, long d, long e, long f, long g, long h, long i,
      long j)
{
  char text[96];
  return format (text, sizeof text, "%ld%ld%ld%ld%ld|%ld%ld%ld%ld%ld", a, b, c, d,
                 e, f, g, h, i, j);
}

OWN static int is_odd (int n);

OWN static int
is_even (int n)
{
  volatile char pad[40];
  pad[n % 40] = 1;
  return n == 0 ? pad[0] : is_odd (n - 1);
}

OWN static int
is_odd (int n)
{
  volatile char pad[72];
  pad[n % 72] = 2;
  return n == 0 ? 0 : is_even (n - 1) + pad[n % 72] - 2;
}

OWN static int
try_escape (int *v, int n)
{
  volatile int tries = 0;
  int got = setjmp (out);
  tries++;
  if (got == 0)
    qsort (v, n, sizeof v[0], escaping);
  return 100 * got + tries;
}

static void
farewell (void)
{
  fputs ("calls: bye\n", stdout);
}

typedef long (*step) (long);
OWN static long twice (long a) { return 2 * a; }
OWN static long less (long a) { return a - 3; }
OWN static long shown (long a)
{
  char text[32];
  return format (text, sizeof text, "%08lx", a) + a;
}

int
main (void)
{
  static const step table[] = { twice, less, shown, twice };
  int v[40], key = 12, sum = 0;
  long value = 5;
  char text[64];

  atexit (farewell);
  for (int i = 0; i < 40; i++)
    v[i] = (i * 29 + 5) % 40;
  qsort (v, 40, sizeof v[0], sorting);
  for (int i = 0; i < 40; i++)
    sum = (sum * 3 + v[i]) % 9973;
  qsort (v, 40, sizeof v[0], plain);
  int *hit = bsearch (&key, v, 40, sizeof v[0], plain);
  for (int i = 0; i < 12; i++)
    value = table[i % 4](value) % 100003;
  for (int i = 0; i < 40; i++)
    v[i] = (i * 11 + 2) % 40;
  format (text, sizeof text, "%s %d %c %5.3f", "text", 42, 'x', 1.5);
  printf ("calls: %d %d %ld %ld\n", sum, hit ? (int) (hit - v) : -1, value,
          sum_of (9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L));
  printf ("calls: %s %ld %d %d\n", text, many (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
          is_even (150), try_escape (v, 40));
  return 0;
}
