/*
 * deaf_preload - injects a firewall: no datagram leaves the process.
 *
 *     LD_PRELOAD=deaf_preload.so mpiexec -n 2 known_truth ...
 */
#include <errno.h>
#include <sys/socket.h>

ssize_t sendto(int socket, const void *message, size_t bytes, int flags, const struct sockaddr *to, socklen_t size) {
    (void)socket, (void)message, (void)bytes, (void)flags, (void)to, (void)size;
    errno = EPERM;
    return -1;
}
