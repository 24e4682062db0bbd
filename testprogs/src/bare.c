/* Output and memory helpers of the programs without a C library.  */

#include "bare.h"

void *
memcpy (void *restrict to, const void *restrict from, size_t n)
{
  char *t = to;
  const char *f = from;
  while (n--)
    *t++ = *f++;
  return to;
}

void *
memset (void *to, int c, size_t n)
{
  char *t = to;
  while (n--)
    *t++ = c;
  return to;
}

void
put_text (const char *text)
{
  size_t n = 0;
  while (text[n])
    n++;
  sys_write (1, text, n);
}

void
put_long (long value)
{
  char digits[24];
  size_t at = sizeof digits;
  unsigned long rest = value < 0 ? -(unsigned long) value : (unsigned long) value;
  do
    digits[--at] = '0' + rest % 10;
  while (rest /= 10);
  if (value < 0)
    digits[--at] = '-';
  sys_write (1, digits + at, sizeof digits - at);
}

void
report (const char *name, long value)
{
  put_text (name);
  put_text (" ");
  put_long (value);
  put_text ("\n");
}
