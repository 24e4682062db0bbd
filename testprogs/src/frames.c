/* frames: every shape of stack frame that C makes.

   Stresses: leaf functions without a frame, many saved registers, stack
   arguments, frames over 4 KiB, 32 KiB, 64 KiB and 512 KiB, alloca (also in a
   loop), variable-length arrays, over-aligned locals (stack realignment, also
   together with alloca and with stack arguments), variable arguments,
   structures passed and returned by value, another calling convention with more
   saved registers, a nested function that reads its parent's frame, every
   saved register pushed at once, and the frame and return addresses taken by
   builtins.  */

#include "bare.h"

struct big
{
  long v[9];
};

OWN long leaf (long a) { return 3 * a + 1; }
OWN long no_work (long a) { return a; }
OWN void escape (void *p) { __asm__ volatile ("" : : "r" (p) : "memory"); }

OWN long
saved (long a, long b, long c, long d)
{
  long e = leaf (a), f = leaf (b), g = leaf (c), h = leaf (d);
  long i = leaf (e ^ f), j = leaf (g ^ h), k = leaf (e + h), l = leaf (f - g);
  for (long n = 0; n < 3; n++)
    {
      i += no_work (j ^ n);
      j += no_work (k + l);
      k -= no_work (e & i);
    }
  return a + b + c + d + e + f + g + h + i + j + k + l;
}

OWN long
eleven (long a, long b, long c, long d, long e, long f, long g, long h, long i,
        long j, long k)
{
  return leaf (a + 2 * b + 3 * c) - leaf (4 * d + 5 * e + 6 * f)
         + leaf (7 * g + 8 * h) * (i - 2 * j + k);
}

OWN long
leaf_array (long n)
{
  volatile long v[12];
  for (int i = 0; i < 12; i++)
    v[i] = n + i;
  return v[n & 7] * v[11];
}

#define FRAME(name, bytes)                                                    \
  OWN long name (long n)                                                      \
  {                                                                           \
    volatile char v[bytes];                                                   \
    v[0] = n;                                                                 \
    v[(bytes) - 1] = n + 1;                                                   \
    long r = leaf (v[0]) + leaf (v[(bytes) - 1]);                             \
    return r + v[0];                                                          \
  }

FRAME (frame_200, 200)
FRAME (frame_5k, 5000)
FRAME (frame_40k, 40000)
FRAME (frame_70k, 70000)
FRAME (frame_600k, 600000)

OWN long
by_alloca (long n)
{
  long *p = __builtin_alloca (n * sizeof *p);
  escape (p);
  for (long i = 0; i < n; i++)
    p[i] = leaf (i);
  return p[n - 1] + p[n / 2];
}

OWN long
alloca_in_loop (long n)
{
  long *last = NULL, sum = 0;
  for (long i = 1; i <= n; i++)
    {
      long *p = __builtin_alloca (i * 24);
      escape (p);
      p[0] = (long) (last ? last[0] : 1) + i;
      sum += leaf (p[0]);
      last = p;
    }
  return sum;
}

OWN long
by_vla (long n, long m)
{
  long sum = 0;
  for (long i = 1; i < n; i++)
    {
      long v[i * m];
      escape (v);
      for (long j = 0; j < i * m; j++)
        v[j] = no_work (j);
      sum += v[i * m - 1];
    }
  return leaf (sum);
}

OWN long
aligned_32 (long n)
{
  _Alignas (32) volatile char v[96];
  escape ((void *) v);
  v[5] = n;
  return leaf (v[5]) + (long) ((size_t) v & 31);
}

OWN long
aligned_128_alloca (long n)
{
  _Alignas (128) volatile long v[16];
  long *p = __builtin_alloca (n * 40);
  escape ((void *) v);
  escape (p);
  v[3] = n;
  p[n] = leaf (v[3]);
  return p[n] + (long) ((size_t) v & 127);
}

OWN long
aligned_stack_arguments (long a, long b, long c, long d, long e, long f, long g,
                         long h, long i)
{
  _Alignas (64) volatile long v[8];
  escape ((void *) v);
  v[a & 7] = i;
  return leaf (v[a & 7] + h) + b + c + d + e + f + g + (long) ((size_t) v & 63);
}

OWN long
aligned_early (long a)
{
  if (a < 3)
    return a;
  _Alignas (64) volatile long v[24];
  escape ((void *) v);
  v[a % 24] = a;
  return leaf (v[a % 24]) + aligned_early (a - 1);
}

OWN long
sum_list (int n, ...)
{
  va_list list;
  long sum = 0;
  va_start (list, n);
  for (int i = 0; i < n; i++)
    sum = leaf (sum) ^ va_arg (list, long);
  va_end (list);
  return sum;
}

OWN double
sum_mixed (const char *kinds, ...)
{
  va_list list;
  double sum = 0;
  va_start (list, kinds);
  for (; *kinds; kinds++)
    sum = sum * 2 + (*kinds == 'd' ? va_arg (list, double) : leaf (va_arg (list, long)));
  va_end (list);
  return sum;
}

OWN struct big
make_big (long n)
{
  struct big b;
  for (int i = 0; i < 9; i++)
    b.v[i] = leaf (n + i);
  return b;
}

OWN long
take_big (struct big b, long n)
{
  b.v[n] += no_work (n);
  return leaf (b.v[n]) + b.v[8 - n];
}

OWN double
float_saved (double a, double b)
{
  double c = a * b, d = a - b, e = a + b;
  double f = sum_mixed ("dld", a, 2L, b);
  double g = sum_mixed ("ld", 3L, c);
  return c * 2 + d * 3 + e * 5 + f * 7 + g * 11;
}

OWN long
own_frame (long n)
{
  char *frame = __builtin_frame_address (0);
  return leaf (n) + (frame != NULL) + (__builtin_return_address (0) != NULL);
}

/* A convention under which vector registers are saved, where there is one.  */
#if defined __x86_64__
#define OTHER_CONVENTION __attribute__ ((ms_abi))
#elif defined __aarch64__
#define OTHER_CONVENTION __attribute__ ((aarch64_vector_pcs))
#else
#define OTHER_CONVENTION
#endif

OWN OTHER_CONVENTION long
other_convention (long a, long b, long c, long d, long e)
{
  return leaf (a) + 2 * leaf (b) + 3 * leaf (c) + (long) sum_mixed ("dl", 0.5 * d, e);
}

OWN long
nested (long a)
{
#ifdef __clang__
  return leaf (a) + leaf (a + 5) + 5;
#else
  long local = a;
  __attribute__ ((noinline)) long inside (long b)
  {
    _Alignas (64) volatile long v[8];
    escape ((void *) v);
    v[b & 7] = leaf (local);
    local += b;
    return v[b & 7];
  }
  long first = inside (5);
  return first + leaf (local) + local - a;
#endif
}

OWN long
all_saved (long a)
{
#ifndef __clang__
  __builtin_unwind_init ();
#endif
  return leaf (a);
}

int
main (void)
{
  long sum = saved (1, 2, 3, 4);
  sum += eleven (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  sum += leaf_array (5);
  sum += frame_200 (1) + frame_5k (2) + frame_40k (3) + frame_70k (4);
  sum += frame_600k (5);
  sum += by_alloca (9) + alloca_in_loop (5) + by_vla (6, 3);
  sum += aligned_32 (6) + aligned_128_alloca (7);
  sum += aligned_stack_arguments (1, 2, 3, 4, 5, 6, 7, 8, 9) + aligned_early (8);
  sum += sum_list (3, 1L, 2L, 3L) + sum_list (9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
  sum += (long) sum_mixed ("dldlddldldl", 1.5, 2L, 2.5, 3L, 4.5, 5.5, 6L, 7.5, 8L, 9.5, 10L);
  sum += take_big (make_big (3), 2);
  sum += (long) float_saved (1.5, 2.25);
  sum += other_convention (1, 2, 3, 4, 5) + nested (6) + all_saved (7) + own_frame (4);
  report ("frames", sum);
  return 0;
}
