package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Enum is a type with a closed list of constants, such as the kinds of events, and the types that
// stand for one constant each. Code that names some of them and ignores the others breaks when one
// is added. Neither the compiler nor a test of that code notices.
type Enum struct {
	Import string // of the package that declares it
	Dir    string // of that package
	Type   string // its name. A type with a method of that name and result stands for one constant
	Table  string // the variable of Dir that has a row for each constant
}

// Gaps lists, one line each, the switches, map literals and slice literals in the code under root
// that name values of the enum but not all of them, without saying what holds for the others:
//
//   - a switch over constants or over types needs a default clause with a comment
//   - a map with constants as keys, and a slice with two or more of them, needs a comment on its
//     first line or on the line above
//
// It lists the constants that Table lacks too. Tests are not checked.
func (e Enum) Gaps(root fs.FS) ([]string, error) {
	skip := ignored(root)
	sources, err := read(root, skip)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	v, err := e.values(root, sources)
	if err != nil {
		return nil, err
	}
	gaps := v.missing
	for _, s := range sources {
		if s.test || s.dir() != e.Dir && !slices.Contains(s.imports, e.Import) {
			continue
		}
		c := &enumCheck{values: v, own: s.dir() == e.Dir, files: token.NewFileSet(), name: path.Base(e.Import)}
		if c.file, err = parseWhole(root, c.files, s.path); err != nil {
			return nil, err
		}
		ast.Inspect(c.file, c.inspect)
		gaps = append(gaps, c.gaps...)
	}
	return gaps, nil
}

func parseWhole(root fs.FS, files *token.FileSet, name string) (*ast.File, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	return parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
}

// enumValues are the names of an enum's constants and of the types that stand for them.
type enumValues struct {
	constants, types []string
	missing          []string // one line for each constant that the table lacks
}

func (e Enum) values(root fs.FS, sources []source) (v enumValues, err error) {
	rows := map[string]bool{}
	for _, s := range sources {
		if s.test || s.dir() != e.Dir {
			continue
		}
		file, err := parseWhole(root, token.NewFileSet(), s.path)
		if err != nil {
			return v, err
		}
		for _, decl := range file.Decls {
			v.declared(e, decl, rows)
		}
	}
	if len(v.constants) < 2 || len(rows) == 0 {
		return v, fmt.Errorf("%s: found the constants %q of %s, and %d names in %s", e.Dir, v.constants, e.Type, len(rows), e.Table)
	}
	for _, name := range v.constants {
		if !rows[name] {
			v.missing = append(v.missing, fmt.Sprintf("%s: %s has no row in %s", e.Dir, name, e.Table))
		}
	}
	return v, nil
}

// declared adds the values that a declaration of the enum's package declares, and to rows the names
// in the table.
func (v *enumValues) declared(e Enum, decl ast.Decl, rows map[string]bool) {
	if method, ok := decl.(*ast.FuncDecl); ok {
		if method.Recv != nil && method.Name.Name == e.Type && isIdent(resultOf(method), e.Type) {
			v.types = append(v.types, identOf(method.Recv.List[0].Type))
		}
		return
	}
	for _, spec := range decl.(*ast.GenDecl).Specs {
		value, ok := spec.(*ast.ValueSpec)
		switch {
		case !ok:
		case isIdent(value.Type, e.Type):
			for _, name := range value.Names {
				v.constants = append(v.constants, name.Name)
			}
		case value.Names[0].Name == e.Table:
			ast.Inspect(value, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					rows[id.Name] = true
				}
				return true
			})
		}
	}
}

func resultOf(f *ast.FuncDecl) ast.Expr {
	if r := f.Type.Results; r != nil && len(r.List) == 1 {
		return r.List[0].Type
	}
	return nil
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// identOf returns the name of a type or of a pointer to one.
func identOf(x ast.Expr) string {
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// enumCheck looks for gaps in one file.
type enumCheck struct {
	values enumValues
	own    bool   // the file is of the enum's package
	name   string // of that package in other files
	files  *token.FileSet
	file   *ast.File
	gaps   []string
}

func (c *enumCheck) inspect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SwitchStmt:
		c.checkSwitch(n, n.Body, c.values.constants)
	case *ast.TypeSwitchStmt:
		c.checkSwitch(n, n.Body, c.values.types)
	case *ast.CompositeLit:
		c.checkLiteral(n)
	}
	return true
}

func (c *enumCheck) checkSwitch(n ast.Node, body *ast.BlockStmt, all []string) {
	var named []string
	explained := false
	for i, statement := range body.List {
		clause, end := statement.(*ast.CaseClause), body.Rbrace
		if i+1 < len(body.List) {
			end = body.List[i+1].Pos()
		}
		explained = explained || clause.List == nil && c.commented(c.line(clause.Colon), c.line(end)-1)
		named = append(named, c.named(clause.List, all)...)
	}
	if len(named) == 0 || explained {
		return
	}
	c.report(n, named, all, "needs a default clause with a comment that says what holds for the others")
}

// checkLiteral checks a map whose keys, or a slice whose elements, are constants.
func (c *enumCheck) checkLiteral(n *ast.CompositeLit) {
	var keys []ast.Expr
	least := 1
	switch n.Type.(type) {
	case *ast.MapType:
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				keys = append(keys, pair.Key)
			}
		}
	case *ast.ArrayType:
		keys, least = n.Elts, 2
	default:
		return
	}
	named := c.named(keys, c.values.constants)
	if line := c.line(n.Pos()); len(named) < least || c.commented(line-1, line) {
		return
	}
	c.report(n, named, c.values.constants, "needs a comment that says why")
}

// named returns the values that expressions name.
func (c *enumCheck) named(list []ast.Expr, all []string) (names []string) {
	for _, x := range list {
		if star, ok := x.(*ast.StarExpr); ok {
			x = star.X
		}
		name := ""
		switch x := x.(type) {
		case *ast.Ident:
			if c.own {
				name = x.Name
			}
		case *ast.SelectorExpr:
			if isIdent(x.X, c.name) {
				name = x.Sel.Name
			}
		}
		if slices.Contains(all, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *enumCheck) report(n ast.Node, named, all []string, need string) {
	missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(named, name) })
	if len(missing) > 0 {
		c.gaps = append(c.gaps, fmt.Sprintf("%s has no %s: it %s", c.files.Position(n.Pos()), strings.Join(missing, ", "), need))
	}
}

func (c *enumCheck) line(at token.Pos) int { return c.files.Position(at).Line }

// commented reports whether there is a comment on one of the lines from first to last.
func (c *enumCheck) commented(first, last int) bool {
	return slices.ContainsFunc(c.file.Comments, func(g *ast.CommentGroup) bool {
		return c.line(g.Pos()) <= last && c.line(g.End()) >= first
	})
}
