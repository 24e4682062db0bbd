/* One function for each kind of frame that unwind tables describe; needs no library.

   MACHINE.o, MACHINE.so and MACHINE.txt beside this file were made from it with GCC 16.2 and
   binutils 2.47.50 of each machine, EXTRA being -fcf-protection=none (x86-64),
   -mbranch-protection=pac-ret (aarch64), -march=z196 (s390x):

   gcc -O2 -fPIC -fno-stack-clash-protection -fno-stack-protector -g0 -fno-ident
       -fasynchronous-unwind-tables -Wa,--gsframe=no EXTRA -c frames.c -o MACHINE.o
   gcc -shared -nostdlib -Wl,--build-id=none,-z,noseparate-code,-z,max-page-size=4096
       -Wl,-z,lazy,--hash-style=gnu,--strip-debug MACHINE.o -o MACHINE.so
   strip --strip-debug MACHINE.o
   readelf --debug-dump=frames-interp MACHINE.so     (its .eh_frame part)
*/

extern int other(int, void *);

int leaf(int a, int b) { return a * b; }

int plain(int n)
{
    char room[64];
    return other(n, room) + 1;
}

int dynamic(int n)
{
    char *room = __builtin_alloca(n);
    return other(n, room) + 1;
}

/* x86-64: CFA by an expression, because SP and FP are both realigned. */
int aligned(int n)
{
    _Alignas(64) char room[128];
    char *more = __builtin_alloca(n);
    return other(n, room) + other(n, more);
}

int large(int n)
{
    char room[300000];
    return other(n, room) + other(n + 1, room);
}

/* Early return and a second exit: remember and restore of the state. */
int two_exits(int n, int *values)
{
    if (n == 0)
        return 0;
    int sum = 0, first = other(n, values), second = other(n, values + 1);
    while (n--)
        sum += other(values[n], values) * first + second;
    if (sum < 0)
        return other(sum, values) + first;
    return sum;
}

/* s390x: a leaf that needs call-saved registers keeps them in floating-point ones. */
int crowded(int *v)
{
    int r = v[0];
#ifdef __s390x__
    __asm__ volatile("" : "+r"(r) : : "r6", "r7", "r8", "r9", "r10", "r11", "r13");
#endif
    return r + v[1];
}

__attribute__((section(".text.apart"))) int apart(int n) { return other(n, &n) + 2; }

/* No caller: the return address is undefined here. */
__asm__(".text\n.globl bottom\n.type bottom,%function\nbottom:\n.cfi_startproc\n"
#if defined(__x86_64__)
        ".cfi_undefined rip\nnop\n"
#elif defined(__aarch64__)
        ".cfi_undefined x30\nnop\n"
#else
        ".cfi_undefined %r14\nnopr\n"
#endif
        ".cfi_endproc\n.size bottom,.-bottom\n");
