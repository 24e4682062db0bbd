/* Without optimisation the last probe of b is skipped by a branch that is always taken.  Not taken,
   it would store 0 to where the caller's FP is saved. */
void g(char *, volatile char *);

long f(long n)
{
	volatile char pad[832];
	char b[(n & 127) + 128];
	g(b, pad);
	return b[n & 127];
}
