/*
 * transport - finds out which transport this process used, as far as the kernel and the MPI library tell.
 */
#pragma once

#include <stdint.h>

/*
 * Returns how many bytes the peers acknowledged on the TCP connections that this process has open now, since each was
 * opened (TCP_INFO's tcpi_bytes_acked, since Linux 4.1). Bytes to the launcher are included. -1 where the kernel does
 * not tell.
 */
int64_t transport_tcp_bytes_sent(void);

/*
 * Call it after MPI_Init. Returns the MPI_T control variables whose name the list lets in (names_let_in; NULL: none)
 * and their values as a JSON object; "{}" where the library has none of them. The values are what the library was told
 * or chose, not what it used. Free with free().
 */
char *transport_variables(const char *list);
