/* x86_64-gcc-drap
   Compiled C: leaf, large frame, alloca, recursion, stack arguments, shrink-
   wrapped and tail calls, built with -O1 and a forced realignment of the
   frame. The compiler's own table is at fault: in the epilogue
   of the realigned function the rule for rbp still loads through rbp when rbp
   has already been given back. From the instruction after that until the end
   the load fails, since rbp of the caller is 0.

   Build:
     x86_64-linux-gnu-gcc -O1 -mstackrealign -mforce-drap -mpreferred-stack-boundary=5 -fno-pie -no-pie -static -nostdlib -ffreestanding -fno-stack-protector -Wa,--gsframe -Wl,--build-id=none,-z,noseparate-code,-z,max-page-size=4096 prog.c -o prog
*/
__asm__ (
  ".text\n"
  ".globl _start\n"
  ".type _start, %function\n"
  "_start:\n"
  ".cfi_startproc\n"
  ".cfi_undefined %rip\n"
  "call run\n"
  "cmp $348, %rax\n"
  "jne .Lfail\n"
  "mov $1, %eax\n"
  "mov $1, %edi\n"
  "lea .Ltext(%rip), %rsi\n"
  "mov $9, %edx\n"
  "syscall\n"
  "xor %edi, %edi\n"
  ".Lquit:\n"
  "mov $60, %eax\n"
  "syscall\n"
  ".Lfail:\n"
  "mov $1, %edi\n"
  "jmp .Lquit\n"
  ".cfi_endproc\n"
  ".size _start, .-_start\n"
  ".section .rodata\n"
  ".Ltext: .ascii \"gcc-drap\\n\"\n"
  ".text\n"
);

#define OWN __attribute__ ((noipa))
OWN long leaf (long a) { return 3 * a + 1; }
OWN long fold (long n, const long *p)
{
  long s = 0;
  for (long i = 0; i < n; i++)
    s += leaf (p[i]) ^ i;
  return s;
}
OWN long big (long n)
{
  volatile long v[700];
  v[0] = n, v[699] = n + 1;
  long w[2] = { v[0], v[699] };
  return fold (2, w);
}
OWN long run_time_size (long n)
{
  long *p = __builtin_alloca (8 * n);
  for (long i = 0; i < n; i++)
    p[i] = n * i;
  return fold (n, p);
}
OWN long fib (long n) { return n < 2 ? n : fib (n - 1) + fib (n - 2); }
OWN long nine (long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
  return leaf (a + 2 * b + 3 * c + 4 * d) - leaf (e + 5 * f + 6 * g) + 7 * h + i;
}
OWN long wrapped (long a)
{
  if (a < 0)
    return -1;
  return leaf (a) + leaf (a + 1) * leaf (a + 2);
}
OWN long last (long a) { return a > 5 ? leaf (a) : wrapped (a); }
long run (void)
{
  long r = big (4) + run_time_size (5) + fib (7);
  r += nine (1, 2, 3, 4, 5, 6, 7, 8, 9);
  r += wrapped (-3) + wrapped (2) + last (7) + last (1);
  return r & 0x7ff;
}
