/* What libdep.so offers.  */

int dep_fold (int (*each) (int), int count);
int dep_rest (int value);

/* Where dep_wrong stands in the file.  */
long dep_offset (void);

/* Returns its argument plus one, by way of a function whose rows do not say that
   SP moves for two instructions: they are wrong there, in each table.  */
int dep_wrong (int value);
