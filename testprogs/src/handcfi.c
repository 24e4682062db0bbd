/* handcfi: unwind rows written by hand.

   Stresses: what no compiler writes; the functions are in handcfi.S of each
   architecture.  Some of it SFrame cannot say: the assembler then leaves the
   function out (a gap in the table), or, in old versions, says it wrongly.  */

#include "bare.h"

long hand_exits (long a);
long hand_other_cfa (long a);
long hand_ra_register (long a);
long hand_ra_slot (long a);
long hand_frame_pointer (long a);
long hand_special (long a);

OWN long leaf (long a) { return 3 * a + 1; }

int
main (void)
{
  long sum = hand_exits (0) + hand_exits (2) + hand_exits (50);
  sum = 3 * sum + hand_other_cfa (3);
  sum = 3 * sum + hand_ra_register (4);
  sum = 3 * sum + hand_ra_slot (5);
  sum = 3 * sum + hand_frame_pointer (6);
  sum = 3 * sum + hand_special (7);
  report ("handcfi", sum);
  return 0;
}
