/* leaves: leaf functions under register pressure.

   Stresses: leaf functions that need every register.  On s390x from -march=z10
   with tuning for z13 on, GCC keeps r11 and r14 (and others) of such a leaf in
   floating-point registers, which only V3's flexible rows can tell; on the other
   architectures many registers are pushed without a call in sight.  Also leaves
   with large local arrays (red zone or not) and a leaf that uses alloca.  */

#include "bare.h"

OWN long
pressure (const long *p, long n)
{
  long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6];
  long h = p[7], i = p[8], j = p[9], k = p[10];
  for (; n > 0; n--)
    {
      a += b ^ n, b -= c, c ^= d + a, d += e, e -= f ^ b, f ^= g, g += h - c;
      h ^= i, i += j ^ d, j -= k, k += a ^ e;
    }
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
}

/* Fewer live values: only some registers need a place.  */
OWN long
some_pressure (const long *p, long n)
{
  long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5];
  for (; n > 0; n--)
    a += b ^ n, b -= c, c ^= d + a, d += e, e -= f ^ b, f ^= a;
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

/* The registers are needed behind an early exit only.  */
OWN long
late_pressure (const long *p, long n)
{
  if (n < 2)
    return p[n & 1];
  long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
  for (; n > 0; n--)
    {
      a += b ^ n, b -= c, c ^= d + a, d += e, e -= f ^ b, f ^= g, g += h - c, h ^= a;
      if (a == 12345)
        return b;
    }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

/* All registers are clobbered: nothing can stay in place.  */
OWN long
clobbering (long a)
{
#if defined __s390x__
  __asm__ volatile ("" : "+r" (a) : : "r0", "r1", "r3", "r4", "r5", "r6", "r7", "r8",
                    "r9", "r10", "r12", "r13", "r14");
#elif defined __aarch64__
  __asm__ volatile ("" : "+r" (a) : : "x19", "x20", "x21", "x22", "x23", "x24", "x25",
                    "x26", "x27", "x28", "x30");
#else
  __asm__ volatile ("" : "+r" (a) : : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r12",
                    "r13", "r14", "r15");
#endif
  return 5 * a + 3;
}

/* Only the return address's own register is taken (x30, r14).  */
OWN long
link_register (long a)
{
#if defined __s390x__
  __asm__ volatile ("lghi %%r14, 77\n\tagr %0, %%r14" : "+d" (a) : : "r14", "cc");
#elif defined __aarch64__
  __asm__ volatile ("mov x30, #77\n\tadd %0, %0, x30" : "+r" (a) : : "x30");
#else
  __asm__ volatile ("addq $77, %0" : "+r" (a) : : "rbx", "cc");
#endif
  return a;
}

OWN long
array_leaf (long n)
{
  volatile long v[14];
  for (int i = 0; i < 14; i++)
    v[i] = i * n;
  return v[n % 14] + v[13];
}

OWN long
large_leaf (long n)
{
  volatile int v[1500];
  v[n] = n;
  v[1499] = n + 1;
  return v[n] * v[1499];
}

OWN long
alloca_leaf (long n)
{
  volatile char *p = __builtin_alloca (n);
  p[n - 1] = 5;
  p[0] = 7;
  return p[n - 1] * p[0];
}

OWN double
float_leaf (double a, const double *p)
{
  double b = p[0], c = p[1], d = p[2], e = p[3], f = p[4], g = p[5], h = p[6], i = p[7];
  for (int n = 0; n < 3; n++)
    {
      a = a * 0.5 + b, b = b - c, c = c + d * 0.25, d = e - a, e = f + b;
      f = g * 0.5, g = h + c, h = i - d, i = a + 1;
    }
  return a + b + c + d + e + f + g + h + i;
}

int
main (void)
{
  static const long p[11] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5 };
  static const double q[8] = { 2, 7, 1, 8, 2, 8, 1, 8 };
  long sum = pressure (p, 5) + some_pressure (p, 4);
  sum += late_pressure (p, 1) + late_pressure (p, 6);
  sum += clobbering (6) + link_register (7) + array_leaf (8) + large_leaf (9);
  sum += alloca_leaf (40) + (long) float_leaf (1, q);
  report ("leaves", sum);
  return 0;
}
