// Package examplegen turns tables into Examples as TFX's ExampleGen does. Start with Convert.
//
// A CSV file becomes what CsvExampleGen makes of it, record for record. The first row holds the names of the columns. The type of
// a column is decided by all of its cells: INT where each is an integer of 64 bits, else FLOAT where each is a number, which becomes a
// 32-bit float, else BYTES. Cells are read as Python reads them: space around a number and underscores between digits are allowed,
// nan and inf are numbers, and an integer beyond 64 bits is BYTES. An empty cell becomes an empty list of the column's type, and a column of
// empty cells a feature without a type. Empty lines are passed over.
//
// A record goes to a split by hash: SHA-256 of the serialized tf.Example, as an integer, modulo the number of all buckets. Without
// other Options two of three buckets are train and one is eval. The same row is always in the same split.
//
// A Parquet file has flat columns of booleans (0 and 1), signed integers, floats, strings and bytes; null is a missing value. Nested and repeated
// columns, unsigned integers, decimals, dates and times are refused by name, and so are more
// than 100 rows a byte. A damaged one may cost any memory: see Unbounded.
//
// What a file is allowed to hold is bounded: 10,000 columns, 16 MiB a row, 2^31 rows. Rows are streamed; a file is read twice.
package examplegen
