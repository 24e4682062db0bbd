/* work: the longer-running program for demonstrations and benchmarks.

   Stresses: a realistic mix of calls.  Sorting with callbacks from libc,
   binary search, recursion of several shapes, string handling, hashing,
   formatted output into buffers, and the allocator.

   Usage: work [ROUNDS]    (default 2; each round is about 0.5 to 1 million
   instructions).  The result depends on ROUNDS only.  */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item
{
  uint32_t key;
  char name[20];
};

struct node
{
  struct node *left, *right;
  uint32_t key, count;
};

static uint32_t state = 1;

static uint32_t
next_random (void)
{
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static uint32_t
hash_text (const char *text)
{
  uint32_t h = 2166136261u;
  while (*text)
    h = (h ^ (unsigned char) *text++) * 16777619u;
  return h;
}

static int
by_key (const void *a, const void *b)
{
  const struct item *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

static int
by_name (const void *a, const void *b)
{
  const struct item *x = a, *y = b;
  return strcmp (x->name, y->name);
}

static uint32_t
sort_and_search (int n)
{
  struct item *items = calloc (n, sizeof *items);
  uint32_t sum = 0;
  if (!items)
    abort ();
  for (int i = 0; i < n; i++)
    {
      items[i].key = next_random () % 100000;
      snprintf (items[i].name, sizeof items[i].name, "%s-%05u",
                i % 3 ? "pear" : "apple", (unsigned) items[i].key);
    }
  qsort (items, n, sizeof *items, by_key);
  for (int i = 0; i < n; i += 3)
    {
      struct item probe = { items[i].key ^ (i & 1), "" };
      struct item *hit = bsearch (&probe, items, n, sizeof *items, by_key);
      sum = sum * 31 + (hit ? hit->key : 7);
    }
  qsort (items, n, sizeof *items, by_name);
  for (int i = 0; i < n; i++)
    sum = sum * 33 + hash_text (items[i].name);
  free (items);
  return sum;
}

static struct node *
insert (struct node *tree, uint32_t key)
{
  if (!tree)
    {
      tree = malloc (sizeof *tree);
      if (!tree)
        abort ();
      *tree = (struct node) { NULL, NULL, key, 1 };
      return tree;
    }
  if (key < tree->key)
    tree->left = insert (tree->left, key);
  else if (key > tree->key)
    tree->right = insert (tree->right, key);
  else
    tree->count++;
  return tree;
}

static uint32_t
fold_tree (const struct node *tree, unsigned depth)
{
  if (!tree)
    return depth;
  uint32_t l = fold_tree (tree->left, depth + 1);
  return (l * 5 + tree->key * tree->count) ^ fold_tree (tree->right, depth + 1);
}

static void
free_tree (struct node *tree)
{
  if (!tree)
    return;
  free_tree (tree->left);
  free_tree (tree->right);
  free (tree);
}

static uint32_t
trees (int n)
{
  struct node *tree = NULL;
  for (int i = 0; i < n; i++)
    tree = insert (tree, next_random () % 4096);
  uint32_t sum = fold_tree (tree, 0);
  free_tree (tree);
  return sum;
}

/* Queens on a board: recursion with backtracking.  */
static int
queens (unsigned all, unsigned rows, unsigned up, unsigned down)
{
  int found = 0;
  if (rows == all)
    return 1;
  for (unsigned free_bits = all & ~(rows | up | down); free_bits;)
    {
      unsigned bit = free_bits & -free_bits;
      free_bits ^= bit;
      found += queens (all, rows | bit, (up | bit) << 1, (down | bit) >> 1);
    }
  return found;
}

static unsigned
ackermann (unsigned m, unsigned n)
{
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann (m - 1, 1);
  return ackermann (m - 1, ackermann (m, n - 1));
}

/* A text is built word by word, then split again and its words counted.  */
static uint32_t
words (int n)
{
  static const char *const syllables[] = { "un", "wind", "frame", "stack", "row" };
  size_t size = 16, used = 0;
  char *text = malloc (size);
  uint32_t sum = 0;
  if (!text)
    abort ();
  for (int i = 0; i < n; i++)
    {
      char word[48];
      uint32_t pick = next_random () >> 4;
      int len = snprintf (word, sizeof word, "%s%s%x ", syllables[pick % 5],
                          syllables[pick / 5 % 5], (unsigned) (pick >> 16 & 0xff));
      if (used + len + 1 > size)
        {
          size = 2 * size + len;
          text = realloc (text, size);
          if (!text)
            abort ();
        }
      memcpy (text + used, word, len + 1);
      used += len;
    }
  for (char *rest = text, *end; (end = strchr (rest, ' ')); rest = end + 1)
    {
      *end = 0;
      sum = sum * 17 + hash_text (rest) + (strstr (rest, "frame") ? 1 : 0);
      if (strncmp (rest, "wind", 4) == 0)
        sum += strtoul (rest + strlen (rest) - 1, NULL, 16);
    }
  free (text);
  return sum;
}

int
main (int argc, char **argv)
{
  long rounds = argc > 1 ? strtol (argv[1], NULL, 10) : 2;
  uint32_t sum = 0;
  for (long i = 0; i < rounds; i++)
    {
      sum = sum * 3 + sort_and_search (120);
      sum = sum * 3 + trees (150);
      sum = sum * 3 + queens (63, 0, 0, 0);
      sum = sum * 3 + ackermann (2, 12);
      sum = sum * 3 + words (60);
    }
  printf ("work %ld: %08x\n", rounds, (unsigned) sum);
  return 0;
}
