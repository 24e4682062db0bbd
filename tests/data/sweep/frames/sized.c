/* GCC keeps the size of an array in a register that `clean` leaves alone and any other function may
   change, and rounds it behind the call.  Were it 0, the stores would hit the saved registers. */
static __attribute__((noinline)) long clean(long x)
{
	return x * 3 + 1;
}

long sized(long n, long m)
{
	long size = (n & 1) + 17;
	long a = clean(m);
	asm("" : "+r"(size) : "r"(a));
	char b[size & 48];
	b[0] = (char)m;
	b[1] = (char)a;
	asm volatile("" : : "r"(b) : "memory");
	return a + b[0] + b[1];
}
