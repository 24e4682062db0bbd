/* Frames of every kind that a sweep has to get through; frames.sh compiles this file. */
#include <stddef.h>

extern int get(int);
extern void put(void *);
extern void end(void) __attribute__((noreturn));

int table(int n)
{
	switch (n) {
	case 0: return get(10);
	case 1: return get(21) + 1;
	case 2: return get(32) + 2;
	case 3: return get(43) * 3;
	case 4: return get(54) - 4;
	case 5: return get(65) ^ 5;
	case 6: return get(76) | 6;
	case 7: return get(87) & 7;
	default: return get(n);
	}
}

int interpret(const unsigned char *code)
{
	static const void *const steps[] = { &&stop, &&add, &&call, &&neg };
	int value = 0;

	goto *steps[*code++];
add:
	value += *code++;
	goto *steps[*code++];
call:
	value = get(value);
	goto *steps[*code++];
neg:
	value = -value;
	goto *steps[*code++];
stop:
	return value;
}

int variable(size_t n)
{
	char room[n];

	put(room);
	return room[0];
}

int large(int n)
{
	char room[200000];

	put(room);
	return get(n) + room[n];
}

int aligned(int n)
{
	int room[16] __attribute__((aligned(256)));

	put(room);
	return room[n & 15];
}

int nested(int n)
{
	int inner(int m) { return get(m) + n; }

	put(inner);
	return inner(n) + 1;
}

static void clean(int *p) { put(p); }

int cleanup(int n)
{
	int held __attribute__((cleanup(clean))) = n;

	return get(held) + get(n + 1);
}

int cold(int n)
{
	if (__builtin_expect(n < 0, 0)) {
		put(&n);
		if (get(n))
			end();
	}
	return get(n) + 1;
}

double floats(double a, double b, double c)
{
	for (int i = 0; i < 8; i++) {
		get(i);
		a += b * c;
		b -= a;
	}
	return a + b + c;
}

int tail(int n)
{
	if (n & 1)
		return get(n);
	put(&n);
	return get(n + 1) + n;
}
