/* parse: an expression calculator over text from the program itself.

   Stresses: recursive descent through several mutually recursive functions,
   errors reported by longjmp from any depth, variable arguments passed on to
   libc (vsnprintf, sscanf), strtod and %g (libc's own floating-point frames),
   and allocation inside the recursion.  */

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *at;
static char message[80];
static jmp_buf failed;

__attribute__ ((noreturn, cold, format (printf, 1, 2))) static void
fail (const char *how, ...)
{
  va_list list;
  va_start (list, how);
  vsnprintf (message, sizeof message, how, list);
  va_end (list);
  longjmp (failed, 1);
}

static int
next_char (void)
{
  while (isspace ((unsigned char) *at))
    at++;
  return *at;
}

static double sum (int depth);

static double
call (const char *name, int depth)
{
  double value = sum (depth + 1);
  if (next_char () != ')')
    fail ("%s: no closing parenthesis at depth %d", name, depth);
  at++;
  if (strcmp (name, "half") == 0)
    return value / 2;
  if (strcmp (name, "sq") == 0)
    return value * value;
  if (strcmp (name, "neg") == 0)
    return -value;
  fail ("no function %s", name);
}

static double
atom (int depth)
{
  int c = next_char ();
  if (depth > 40)
    fail ("too deep");
  if (c == '(')
    {
      at++;
      double value = sum (depth + 1);
      if (next_char () != ')')
        fail ("no closing parenthesis at depth %d", depth);
      at++;
      return value;
    }
  if (c == '-')
    return at++, -atom (depth + 1);
  if (isalpha (c))
    {
      size_t n = strspn (at, "abcdefghijklmnopqrstuvwxyz");
      char *name = malloc (n + 1);
      if (!name)
        fail ("no memory");
      memcpy (name, at, n);
      name[n] = 0;
      at += n;
      if (next_char () != '(')
        {
          free (name);
          fail ("a name without arguments");
        }
      at++;
      double value = call (name, depth);
      free (name);
      return value;
    }
  char *end;
  double value = strtod (at, &end);
  if (end == at)
    fail ("unexpected '%c'", c ? c : '$');
  at = end;
  return value;
}

static double
product (int depth)
{
  double value = atom (depth);
  for (;;)
    {
      int c = next_char ();
      if (c != '*' && c != '/')
        return value;
      at++;
      double other = atom (depth);
      if (c == '/' && other == 0)
        fail ("division by zero after %g", value);
      value = c == '*' ? value * other : value / other;
    }
}

static double
sum (int depth)
{
  double value = product (depth);
  for (;;)
    {
      int c = next_char ();
      if (c != '+' && c != '-')
        return value;
      at++;
      double other = product (depth);
      value = c == '+' ? value + other : value - other;
    }
}

static void
evaluate (const char *text)
{
  at = text;
  if (setjmp (failed))
    {
      printf ("parse: error: %s\n", message);
      return;
    }
  double value = sum (0);
  if (next_char ())
    fail ("rest: %s", at);
  int whole = 0, found = sscanf (text, "%d", &whole);
  printf ("parse: %g (%d %d)\n", value, found, whole);
}

int
main (void)
{
  static const char *const texts[] = {
    "1 + 2 * 3", "((((2.5))))*4-1e2", "sq(half(7) + neg(2)) / 3", "1/(2-2)",
    "sq(1+(2*(3+(4*5", "half(8) ) ", "", "--3 + cube(2)", "1e300*1e10/3",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    evaluate (texts[i]);
  return 3;
}
