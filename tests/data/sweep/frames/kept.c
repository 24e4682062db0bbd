/* The caller knows what the callee leaves alone, and takes SP back from such a register. */
struct pair { long low, high; };

__attribute__((noinline)) static void
left(long a, long b, long c, int d, long *e, long *f, int g)
{
	*e = a << c | g;
	*f = b >> d;
}

__attribute__((noinline)) static void right(long a, long b, long c, int d, long *e, long *f)
{
	*e = a >> c;
	*f = b << d;
}

struct pair shift(const struct pair *from, long by, int width, int arithmetic)
{
	struct pair result;
	if (by > 0)
		left(from->low, from->high, by, width, &result.low, &result.high, arithmetic);
	else
		right(from->low, from->high, -by, width, &result.low, &result.high);
	return result;
}
