/* One of each dynamic relocation:
 *
 *   gcc -O2 -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables -Wl,-z,relro,-z,now
 *       -Wl,-z,max-page-size=4096,-z,noseparate-code,-z,pack-relative-relocs
 *       -Wl,--build-id=none,--hash-style=gnu -o library-ARCH.so library.c
 *   strip --strip-unneeded library-ARCH.so
 *
 * by GCC 16.2 and GNU binutils 2.47.50 for ARCH. (lines are joined)
 */
extern int outside(int);
extern int variable;
extern __thread int foreign;
__thread int own_first = 1, own_second = 2;
static int local = 3;

/* Relative, densely and far apart. */
int *const packed[70] = {&local, &local, 0, &local, [40] = &local, [69] = &local};
/* Of a symbol, with an addend. */
int (*pointer)(int) = outside;
char *inside = (char *)&variable + 5;

static int first(void) { return 1; }
static int (*resolve(void))(void) { return first; }
int chosen(void) __attribute__((ifunc("resolve")));

__attribute__((visibility("hidden"))) __thread int hidden = 4;

int call(int x) { return outside(x) + variable; }
int threads(void) { return foreign + own_second; }
int module(void) { return hidden; }
int choose(void) { return chosen() + *packed[3]; }
