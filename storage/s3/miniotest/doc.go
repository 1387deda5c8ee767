// Package miniotest gives tests of the second tier a real MinIO server, built from source the first time: some 15 minutes on two
// cores. All but this comment needs the build tag minio.
package miniotest
