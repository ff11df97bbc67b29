#include "eviction.h"

#include "error.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { CACHE_LINE = 64 };

bool eviction_is_possible(void) {
    enum { FEATURES = 7, CLFLUSHOPT = 1 << 23 };
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) != 0 && (b & CLFLUSHOPT) != 0;
}

__attribute__((target("clflushopt"))) static void evict(const char *begin, const char *end) {
    const char *line = begin - (uintptr_t)begin % CACHE_LINE;
    for (; line < end; line += CACHE_LINE) {
        _mm_clflushopt((void *)(uintptr_t)line);
    }
}
#else
bool eviction_is_possible(void) {
    return false;
}

static void evict(const char *begin, const char *end) {
    (void)begin;
    (void)end;
}
#endif

void eviction_of(const hybrid_memory *m, const void *begin, size_t bytes) {
    if (m->evicts) {
        evict(begin, (const char *)begin + bytes);
    }
}

void eviction_of_result(const hybrid_memory *m) {
    if (!m->evicts) {
        return;
    }
    const char *begin = m->result;
    const char *end = begin + m->result_bytes;
    const char *own = memory_buffer(m) + m->written_offset;
    const char *own_end = own + m->written_bytes;
    if (own >= end || own_end <= begin) {
        evict(begin, end);
        return;
    }
    evict(begin, own > begin ? own : begin);
    evict(own_end < end ? own_end : end, end);
}

int hybrid_memory_set_eviction(hybrid_memory *memory, bool evicts) {
    if (memory == NULL || !handle_exists(memory)) {
        return error_set(MPI_ERR_ARG, "the hybrid_memory does not exist, or was freed");
    }
    if (evicts && !eviction_is_possible()) {
        return error_set(MPI_ERR_UNSUPPORTED_OPERATION, "this processor has no instruction that evicts cache lines");
    }
    memory->evicts = evicts;
    return MPI_SUCCESS;
}
