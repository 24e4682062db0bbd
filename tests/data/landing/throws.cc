/* Functions with landing pads: handlers, clean-ups, both nested, and parts that are split off.
 *
 * For each MACHINE (x86_64, aarch64, s390x), with the tools of Debian sid (GCC 16, LLVM 23):
 *
 *   MACHINE-linux-gnu-g++ $FLAGS -S -o MACHINE.s throws.cc
 *   MACHINE-linux-gnu-g++ $FLAGS $LINK -Wa,-L -o MACHINE.so MACHINE.s
 *   awk '/^\t?\.(section|text)/ { on = /gcc_except_table/ } on && /:$|byte|uleb128/' MACHINE.s > MACHINE.txt
 *
 * with FLAGS='-O2 -fPIC -g0 -fno-ident' LINK='-shared -nostdlib -Wl,--discard-none
 * -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code -Wl,--build-id=none'; and, with
 * FLAGS='-O2 -fPIC -g0 -fbasic-block-sections=all' (each block in a section of its own),
 * sections.s, .so and .txt by clang++-23, for x86_64. There .Ltmp in sections.s was renamed to
 * .Lplace first: the names of that family are LLVM's own, and it would change them.
 */
extern int work(int);
extern void quiet(int) noexcept;

struct Guard { int value; ~Guard() { quiet(value); } };

int handler(int x) { try { return work(x); } catch (int y) { return y + 1; } }

int cleanup(int x) { Guard guard{x}; return work(x) + work(x + 1); }

int nested(int x)
{
  Guard outer{x};
  try
    {
      Guard inner{x + 1};
      x += work(x);
      try { x += work(x + 2); } catch (long y) { x -= work(y); }
    }
  catch (int y) { return work(y); }
  catch (...) { quiet(x); throw; }
  return work(x + 3);
}

int far_away(int x)
{
  for (int i = 0; i < 3; i++)
    {
      Guard guard{i};
      quiet(x), quiet(x + 1), quiet(x + 2), quiet(x + 3), quiet(x + 4), quiet(x + 5);
      quiet(x + 6), quiet(x + 7), quiet(x + 8), quiet(x + 9), quiet(x + 10), quiet(x + 11);
      quiet(x + 12), quiet(x + 13), quiet(x + 14), quiet(x + 15), quiet(x + 16), quiet(x + 17);
      x = work(x);
    }
  return x;
}

int never_throws(int x) noexcept { return work(x); }
