/* Loaded before the C library: calls on files whose path holds a text fail, or wait first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char kind[16], name[256];
static int left, error, milliseconds;
static volatile int count;

/* From the nth call of this kind on, on files whose path holds `part`, each fails with `number`, or
   waits where that is 0. Kinds: sync, write, lock. */
void fault(const char *what, const char *part, int nth, int number, int wait)
{
    snprintf(kind, sizeof kind, "%s", what);
    snprintf(name, sizeof name, "%s", part);
    left = nth, error = number, milliseconds = wait, count = 0;
}

/* Calls that failed or waited. */
int faults(void) { return count; }

static int fails(const char *what, int file)
{
    char link[64], path[4096];
    if (strcmp(kind, what))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    if (!strstr(path, name) || --left > 0)
        return 0;
    __sync_fetch_and_add(&count, 1);
    if (milliseconds)
        usleep(1000 * milliseconds);
    errno = error;
    return error != 0;
}

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))

int fsync(int file) { return fails("sync", file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return fails("sync", file) ? -1 : REAL(fdatasync)(file); }
int flock(int file, int how) { return fails("lock", file) ? -1 : REAL(flock)(file, how); }

ssize_t write(int file, const void *data, size_t size)
{
    return fails("write", file) ? -1 : REAL(write)(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at)
{
    return fails("write", file) ? -1 : REAL(pwrite)(file, data, size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at)
{
    return fails("write", file) ? -1 : REAL(pwrite64)(file, data, size, at);
}

static int locks(int file, int what)
{
    return (what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK) && fails("lock", file);
}

int fcntl(int file, int what, ...)
{
    va_list rest;
    va_start(rest, what);
    void *value = va_arg(rest, void *);
    va_end(rest);
    return locks(file, what) ? -1 : REAL(fcntl)(file, what, value);
}

int fcntl64(int file, int what, ...)
{
    va_list rest;
    va_start(rest, what);
    void *value = va_arg(rest, void *);
    va_end(rest);
    return locks(file, what) ? -1 : REAL(fcntl64)(file, what, value);
}
