/* Preloaded into a server: every flush takes as many milliseconds longer as the file says that SLOW_DISK_FILE names, while there is one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void slow_down(void) {
  const char *path = getenv("SLOW_DISK_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  int ms = 0;
  if (!file) return;
  if (fscanf(file, "%d", &ms) != 1) ms = 0;
  fclose(file);
  if (ms > 0) usleep((useconds_t)ms * 1000);
}

static int flush(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  slow_down();
  return real(fd);
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }
