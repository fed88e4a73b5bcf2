// The peer of weft rehearse: one size of MPI_Allreduce, again and again. Rank 0 prints the
// median, the smallest and the largest time of one, in microseconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int less(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	int rank, bytes = atoi(argv[1]), times = atoi(argv[2]), warm = 5;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	unsigned short *in = calloc(bytes, 1), *out = calloc(bytes, 1);
	double *took = calloc(times, sizeof *took);
	for (int i = -warm; i < times; i++) {
		double start = MPI_Wtime();
		MPI_Allreduce(in, out, bytes / 2, MPI_UNSIGNED_SHORT, MPI_SUM, MPI_COMM_WORLD);
		if (i >= 0)
			took[i] = (MPI_Wtime() - start) * 1e6;
	}
	qsort(took, times, sizeof *took, less);
	if (rank == 0)
		printf("allreduce %d bytes: %.1f %.1f %.1f\n", bytes, took[times / 2], took[0], took[times - 1]);
	MPI_Finalize();
	return 0;
}
