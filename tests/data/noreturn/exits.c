/* Functions that never return, and some that look as if they did not: their names say which.
 *
 * For each MACHINE (x86_64, aarch64, s390x), with the tools of Debian sid (GCC 16, binutils
 * 2.47.50):
 *
 *   MACHINE-linux-gnu-gcc FLAGS -o NAME.so exits.c
 *   MACHINE-linux-gnu-objdump -d NAME.so | grep '@plt>:$' > NAME.plt.txt
 *
 * with FLAGS = -O2 -fPIC -shared -nostdlib -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code
 *              -Wl,--build-id=none -Wl,--hash-style=gnu
 *
 * NAME is MACHINE; x86_64-marked has -fcf-protection=full -Wl,-z,ibtplt besides, aarch64-marked
 * -mbranch-protection=standard -Wl,-z,force-bti -Wl,-z,pac-plt.
 */
#define KEEP __attribute__((noinline, noclone, noipa, used))
#define NORETURN __attribute__((noreturn))

/* Known by name. */
extern void abort(void) NORETURN;
extern void longjmp(void *, int) NORETURN;
extern void throw_length_error(const char *) __asm__("_ZSt20__throw_length_errorPKc") NORETURN;
/* Not known by name: callers give it away. */
extern void stop_here(int) NORETURN;
extern void stop_apart(int) NORETURN __attribute__((noplt));
/* Returns, and everybody knows. */
extern int helper(int);
extern int (*pointer)(int);

KEEP NORETURN void never_by_name(void) { abort(); }
KEEP NORETURN void never_by_pattern(int x) { helper(x); throw_length_error("length"); }
KEEP NORETURN void never_jumps(void *buffer) { longjmp(buffer, 1); }
KEEP NORETURN void never_loops(volatile int *x) { for (;;) ++*x; }
KEEP NORETURN void never_traps(void) { __builtin_trap(); }
KEEP NORETURN void never_by_callee(int x) { helper(x); never_loops(&x); }
KEEP NORETURN void never_either_way(int x) { if (helper(x)) never_traps(); never_by_callee(x); }
KEEP NORETURN void never_by_caller(int x) { helper(x); stop_here(x); }
KEEP NORETURN void never_apart(int x) { helper(x); stop_apart(x); }
KEEP int returns_mostly(int x) { if (helper(x)) never_by_caller(x); return helper(x + 1) + 2; }
KEEP int returns_after_check(int x) { if (x == 3) abort(); return x + 1; }
KEEP int returns_tail(int x) { return helper(x + 1); }
KEEP int returns_by_pointer(int x) { return pointer(x + 1); }
KEEP int returns_by_tail_of_own(int x) { return returns_mostly(x + 1); }
KEEP int returns_early(int x, int y) { while (x) { if (x == y) return 3; x = helper(x); } never_traps(); }
KEEP int returns_recursive(int x) { return x ? returns_recursive(x - 1) + helper(x) : 0; }
KEEP int returns_by_table(int x)
{
  switch (x)
    {
    case 0: return helper(7);
    case 1: return helper(5) + 1;
    case 2: abort();
    case 3: return helper(3) + 3;
    case 4: return helper(2) + 5;
    case 5: return helper(9) + 8;
    default: never_by_name();
    }
}
/* One caller promises that it does not come back; the body shows that it may. */
KEEP int returns_in_spite_of_a_promise(int x) { return helper(x) + 1; }
KEEP int never_promised(int x) { returns_in_spite_of_a_promise(x); __builtin_unreachable(); }
KEEP int returns_after_promised(int x) { return returns_in_spite_of_a_promise(x) + helper(x); }
