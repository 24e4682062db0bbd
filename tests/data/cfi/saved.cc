/* Functions that keep registers for their callers, in every way that .eh_frame can tell; some
   have a language-specific data area, and two have a section of their own for it.

   saved-MACHINE.o, saved-MACHINE.so and saved-MACHINE.txt beside this file were made from it by
   the commands in frames.c, with g++ in the place of gcc.
*/

extern "C" int other(int, void *);
extern "C" double real(double);

struct Room {
    int n;
    explicit Room(int n) : n(n) {}
    ~Room() { other(n, this); }
};

/* A landing pad that cleans up, and one that catches. */
int cleanup(int n)
{
    Room first(n), second(n + 1);
    return other(n, &first) + other(n, &second);
}

int caught(int n)
{
    try {
        return other(n, &n) + 1;
    } catch (int error) {
        return other(error, &n);
    }
}

/* COMDAT: its code and its data area stand in sections of their own. */
template <int N> int apart(int n)
{
    Room room(n);
    return other(n + N, &room) * N;
}
template int apart<3>(int);
template int apart<4>(int);

/* A data area without a landing pad: whatever comes here ends the program. */
int never(int n) noexcept { return other(n, &n) + 1; }

/* All general registers that are kept, and an exit before they are needed. */
long many(long n, long *v)
{
    if (n < 0)
        return n;
    long a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (long i = 0; i < n; i++) {
        a += other(i, v) * b;
        b += other(a, v) ^ c;
        c += other(b, v) + d;
        d += other(c, v) * e;
        e += other(d, v) ^ f;
        f += other(e, v) + g;
        g += other(f, v) * h;
        h += other(g, v) ^ a;
    }
    return a + b + c + d + e + f + g + h;
}

/* Floating-point registers, where the calling convention keeps any. */
double reals(double *v)
{
    double a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (int i = 0; i < 9; i++) {
        a += real(b);
        b += real(c);
        c += real(d);
        d += real(e);
        e += real(f);
        f += real(g);
        g += real(h);
        h += real(a);
    }
    return a + b + c + d + e + f + g + h;
}

/* x86-64: the CFA and the saved registers by expressions. */
long aligned(long n, long *v)
{
    alignas(64) char room[128];
    char *more = static_cast<char *>(__builtin_alloca(n));
    long a = other(n, room), b = other(a, more), c = other(b, v), d = other(c, room);
    return a + b + c + d + other(n, room) + other(a, v) + other(b, v) + other(c, v);
}

/* s390x: a leaf that needs registers keeps them in floating-point ones. */
int leaf(int *v)
{
    int r = v[0];
#ifdef __s390x__
    __asm__ volatile("" : "+r"(r) : : "r6", "r7", "r8", "r9", "r10", "r13");
#endif
    return r + v[1];
}

/* The rules that no compiler writes, one at each instruction. */
#if defined(__x86_64__)
#define A "rbx"
#define B "r12"
#define C "r13"
#define FREE "r10"
#elif defined(__aarch64__)
#define A "x19"
#define B "d8"
#define C "x28"
#define FREE "x10"
#else
#define A "%r6"
#define B "%f8"
#define C "%r13"
#define FREE "%r1"
#endif
__asm__(".text\n.globl hand\n.type hand,%function\nhand:\n.cfi_startproc\n"
        ".cfi_offset " A ", -24\n"
        "nop\n.cfi_remember_state\n.cfi_undefined " A "\n.cfi_offset " B ", -32\n"
        "nop\n.cfi_register " A ", " FREE "\n.cfi_val_offset " B ", -48\n"
        "nop\n.cfi_same_value " A "\n.cfi_restore " B "\n.cfi_register " C ", " C "\n"
        "nop\n.cfi_restore_state\n"
        "nop\n.cfi_restore " A "\n.cfi_undefined " C "\n"
        "nop\n.cfi_endproc\n.size hand,.-hand\n");
