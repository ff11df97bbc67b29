"""The papers whose methods the families of benchmarks follow, as the report cites them. CITATION.cff has them too."""

DENIS_2022 = (
    "A. Denis, J. Jaeger, E. Jeannot, F. Reynier: A methodology for assessing computation/communication overlap of MPI "
    "nonblocking collectives. Concurrency and Computation: Practice and Experience 34 (22), 2022, "
    "doi:10.1002/cpe.7168"
)
GILLIS_2023 = (
    "T. Gillis, K. Raffenetti, H. Zhou, Y. Guo, R. Thakur: Quantifying the Performance Benefits of Partitioned "
    "Communication in MPI. 52nd International Conference on Parallel Processing (ICPP 2023), 2023, "
    "doi:10.1145/3605573.3605599"
)
HOEFLER_2006 = "T. Hoefler, J. M. Squyres, W. Rehm, A. Lumsdaine: A Case for Non-Blocking Collective Operations. 2006"
WHITE_1999 = "J. B. White, S. W. Bova: Where's the Overlap? An Analysis of Popular MPI Implementations. 1999"
ZHOU_2020 = (
    "H. Zhou, J. Gracia, N. Zhou, R. Schneider: Collectives in hybrid MPI+MPI code: Design, practice and performance. "
    "Parallel Computing, 2020, doi:10.1016/j.parco.2020.102669"
)
