package process

// SandboxEnv says whether modules have a Sandbox: auto, the default, where the kernel can; required, or off.
const SandboxEnv = "STOKER_MODULE_SANDBOX"

// Access is what a process and all that it starts may do with files, where the kernel can hold it to that: see Sandbox.
type Access struct {
	Hidden []string // files and folders that it can't read, there by now or not
	Write  []string // folders, and files, that are there: it writes nowhere else but in its home, in shared memory and to devices. What is hidden is not written to either
}

// Sandbox is an Access in the kernel's terms (landlock(7)), for a process to enter by itself: rights are bits LANDLOCK_ACCESS_FS_*.
type Sandbox struct {
	Handled uint64 `json:"handled"` // rights that are refused wherever no rule grants them
	Scoped  uint64 `json:"scoped"`  // LANDLOCK_SCOPE_*
	Rules   []Rule `json:"rules"`

	AllThreads   bool `json:"all_threads"`   // a process that enters it by itself enters with all its threads, see CanSandboxThreads
	SpareThreads bool `json:"spare_threads"` // a process may enter it by itself though its other threads stay outside
}

// Rule grants rights on a file, or on a folder with all below it.
type Rule struct {
	Path   string `json:"path"`
	Rights uint64 `json:"rights"`
}
