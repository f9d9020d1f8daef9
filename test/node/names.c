/*
 * Loaded before the runtime's libc, in the place of a name server. The name rebinding.test leads to a public address when
 * it is looked up first, and to this machine afterwards, as that of an attacker would. The hosts of Discord and of a
 * market have no address, as in an outage.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int lookups;
  lookup real = (lookup)dlsym(RTLD_NEXT, "getaddrinfo");
  if (node == 0) return real(node, service, hints, found);
  if (strcmp(node, "discord.com") == 0 || strcmp(node, "api.voxel.shop") == 0) return EAI_AGAIN;
  if (strcmp(node, "rebinding.test") != 0) return real(node, service, hints, found);
  return real(lookups++ == 0 ? "1.1.1.1" : "127.0.0.1", service, hints, found);
}
