package house

// Table is the map. Lists of rooms are written with spaces between them.
type Table struct {
	Module   string          // the path of the module, as in go.mod
	TopLevel string          // what may stand at the top, beside what .gitignore leaves out
	Rooms    map[string]Room // by folder, "." for the top
	Tests    string          // rooms that any test may open, beside those of test help
	Fences   []Fence
}

// Room is a folder with Go files.
type Room struct {
	Opens    string // rooms that its code imports; "*" for all but those of test help
	Tests    string // rooms that its tests import too
	TestHelp bool   // opened by tests and by other test help only
}

// Fence keeps a library in the rooms that hide it from the others.
type Fence struct {
	Library string // import path, with all packages below it
	Rooms   string // who may import it; "" for nobody
	Tests   string // whose tests may import it too
}
