// dropout is kernel.Dropout: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). A thread draws the
// four numbers of one counter. An element is 0 where its 24 high bits are below the threshold, else kept.
KERNEL dropout(float *mask, int n, int threshold, float kept, u64 seed, u64 stream, const u64 *step) {
  unsigned int i = (unsigned int)element();
  if ((i64)i * 4 >= n) return;
  unsigned int c0 = i, c1 = (unsigned int)*step, c2 = (unsigned int)stream;
  unsigned int c3 = (unsigned int)(*step >> 32) ^ (unsigned int)(stream >> 32);
  unsigned int key0 = (unsigned int)seed, key1 = (unsigned int)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    c0 = (unsigned int)(p1 >> 32) ^ c1 ^ key0;
    c1 = (unsigned int)p1;
    c2 = (unsigned int)(p0 >> 32) ^ c3 ^ key1;
    c3 = (unsigned int)p0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  unsigned int drawn[4] = {c0, c1, c2, c3};
  for (int j = 0; j < 4; j++) {
    i64 at = (i64)i * 4 + j;
    if (at < n) mask[at] = (drawn[j] >> 8) < (unsigned int)threshold ? 0.0f : kept;
  }
}
