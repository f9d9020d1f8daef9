/*
 * Loaded before the runtime's libc: the name rebinding.test leads to a public address when it is looked up first, and to
 * this machine afterwards, as a name server of an attacker would have it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int lookups;
  lookup real = (lookup)dlsym(RTLD_NEXT, "getaddrinfo");
  if (node == 0 || strcmp(node, "rebinding.test") != 0) return real(node, service, hints, found);
  return real(lookups++ == 0 ? "1.1.1.1" : "127.0.0.1", service, hints, found);
}
