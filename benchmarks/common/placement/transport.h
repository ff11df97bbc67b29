/*
 * transport - over what this process really spoke, as far as the kernel and the MPI library tell.
 */
#ifndef CAMPAIGN_TRANSPORT_H
#define CAMPAIGN_TRANSPORT_H

#include <stdint.h>

/*
 * Bytes that peers acknowledged on the TCP connections that this process has open now, over their whole life
 * (TCP_INFO's tcpi_bytes_acked, since Linux 4.1), what it says to its launcher included; -1 where the kernel does not
 * tell.
 */
int64_t transport_tcp_bytes_sent(void);

/*
 * MPI_T control variables that a list of names lets in (names_let_in; NULL: none), by name, as a JSON object; "{}"
 * where the library has none of them. What it was told or chose, not what it used. After MPI_Init. Free with free().
 */
char *transport_variables(const char *list);

#endif
