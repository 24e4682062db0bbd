/* libplugin.so: loaded while the program runs.  Its code needs no relocation, so
   that it works wherever it is mapped.  */

int plugin_depth (int rounds);
long plugin_offset (void);

extern const char __ehdr_start[] __attribute__ ((visibility ("hidden")));

static int __attribute__ ((noinline))
below (volatile int *count, int rounds)
{
  if (rounds <= 0)
    return *count;
  ++*count;
  return below (count, rounds - 1) + 1;
}

int
plugin_depth (int rounds)
{
  volatile int count = 0;
  return below (&count, rounds);
}

/* Where plugin_depth stands in the file.  */
long
plugin_offset (void)
{
  return (const char *) plugin_depth - __ehdr_start;
}
