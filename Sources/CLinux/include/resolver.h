/// While the calling thread resolves the host `name` (getaddrinfo), only `address` is found: an IPv4 or IPv6 address as
/// text. NULL ends this. Both texts must be valid until then.
///
/// libmosquitto takes only the name of a broker's host: it resolves the name and tries its addresses one after the other.
/// It also needs the name to verify the broker's certificate. This chooses the address, and changes nothing else. Therefore
/// this library defines getaddrinfo for the whole program; without a choice, it only calls the one of the system.
void resolver_choose(const char *name, const char *address);
