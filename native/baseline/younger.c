// What glibc 2.28 and the libstdc++ of g++ 8 lack, or have in older versions only, and a later compiler's headers call:
// definitions of our own, which nobody else sees.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// The same function by the version that it had before.
#define OLD(name, symbol, version) __asm__(".symver " #name "," #symbol "@" version)

// glibc 2.29: these no longer set errno.
double old_exp(double x), old_log(double x), old_pow(double x, double y);
OLD(old_exp, exp, SEEKRL_FIRST);
OLD(old_log, log, SEEKRL_FIRST);
OLD(old_pow, pow, SEEKRL_FIRST);
HIDDEN double exp(double x) { return old_exp(x); }
HIDDEN double log(double x) { return old_log(x); }
HIDDEN double pow(double x, double y) { return old_pow(x, y); }

// GLIBCXX_3.4.30: std::condition_variable::wait, which may now throw.
void old_wait(void* condition, void* lock);
OLD(old_wait, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "GLIBCXX_3.4.11");
HIDDEN void _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, void* lock) {
  old_wait(condition, lock);
}

// glibc 2.32. That others may run is always right; libtorch is built to think so too.
HIDDEN char __libc_single_threaded = 0;

// glibc 2.33, before which these were macros over others.
#ifdef __x86_64__
enum { kStatVersion = 1 };
#else
enum { kStatVersion = 0 };
#endif
int __fxstat(int version, int descriptor, struct stat* status);
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);

HIDDEN int fstat(int descriptor, struct stat* status) { return __fxstat(kStatVersion, descriptor, status); }
HIDDEN int stat(const char* path, struct stat* status) { return __xstat(kStatVersion, path, status); }
HIDDEN int lstat(const char* path, struct stat* status) { return __lxstat(kStatVersion, path, status); }

// glibc 2.30.
typedef int ClockWait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

// The same moment on the clock that a condition waits by unless told.
static struct timespec on_wall_clock(clockid_t clock, const struct timespec* until) {
  struct timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  wall.tv_sec += until->tv_sec - now.tv_sec;
  wall.tv_nsec += until->tv_nsec - now.tv_nsec;
  const long second = 1000000000;
  if (wall.tv_nsec >= second) ++wall.tv_sec, wall.tv_nsec -= second;
  if (wall.tv_nsec < 0) --wall.tv_sec, wall.tv_nsec += second;
  return wall;
}

HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  ClockWait* const own = (ClockWait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (own != NULL) return own(condition, mutex, clock, until);
  const struct timespec wall = on_wall_clock(clock, until);
  return pthread_cond_timedwait(condition, mutex, &wall);
}

// GLIBCXX_3.4.29: std::__atomic_futex_unsigned_base::_M_futex_wait_until_steady, how a future waits by the steady
// clock.
HIDDEN bool
_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE(
    void* self, unsigned* address, unsigned value, bool has_timeout, int64_t seconds, int64_t nanoseconds) {
  (void)self;
  const struct timespec until = {seconds, nanoseconds};
  const long status =
      syscall(SYS_futex, address, FUTEX_WAIT_BITSET, value, has_timeout ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
  return !(status == -1 && errno == ETIMEDOUT);
}
