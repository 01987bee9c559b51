/* Runs collectives without end, until process 1 stops in the way that the first
   argument says; started ones if there is a third. */

#include "chimera_collectives.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *how) {
  float x = 1;
  if (strcmp(how, "killed") == 0)
    raise(SIGKILL);
  else if (strcmp(how, "failed") == 0)
    exit(1);
  else if (strcmp(how, "left") == 0)
    exit(0);
  else if (strcmp(how, "type") == 0)
    chimera_all_reduce(&x, &x, 1, 99, CHIMERA_SUM, 1);
  else
    chimera_all_reduce(&x, &x, 1, CHIMERA_F32, CHIMERA_SUM, 2);
}

int main(int argc, char **argv) {
  const int64_t grid[] = {argc > 2 ? atoi(argv[2]) : 2};
  float x = 1;
  chimera_check_grid(1, grid);
  for (int i = 0;; ++i) {
    if (i == 1000 && chimera_process() == 1)
      stop(argv[1]);
    if (argc > 3)
      chimera_wait(chimera_start_all_reduce(&x, &x, 1, CHIMERA_F32,
                                            CHIMERA_MAXIMUM, 1));
    else
      chimera_all_reduce(&x, &x, 1, CHIMERA_F32, CHIMERA_MAXIMUM, 1);
  }
}
