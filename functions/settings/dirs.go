package settings

import "path/filepath"

// DataDir is where the local stack keeps its data, by the XDG base directory specification.
func DataDir(environ []string, home string) string {
	if dir := base(environ, home, "XDG_DATA_HOME", ".local", "share"); dir != "" {
		return filepath.Join(dir, "stoker")
	}
	return "stoker-data"
}

// configDir is the folder that the configurations of all programs are in; "" if there is none.
func configDir(environ []string, home string) string {
	return base(environ, home, "XDG_CONFIG_HOME", ".config")
}

// base is a base directory: what the variable says, if that is absolute, else a folder below home.
func base(environ []string, home, variable string, below ...string) string {
	if dir := environment(environ).first(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, below...)...)
}
