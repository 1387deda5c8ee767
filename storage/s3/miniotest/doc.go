// Package miniotest gives tests of the second tier a real MinIO server. The first use builds it
// from source, which takes about 15 minutes on two cores. All of the package but this comment needs
// the build tag minio.
package miniotest
