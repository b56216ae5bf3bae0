package provision

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/profiles"
)

// machines reads the list, or the file that holds it.
func (l *loader) machines(n ast.Node) {
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			l.machine(item)
		}
		if len(list.Values) == 0 {
			l.problem(n, "machines: is empty")
		}
		return
	}
	file := ""
	l.fields(n, "machines", field{"csv": l.str(&file)})
	if file == "" {
		l.problem(n, "machines: write a list, or {csv: FILE}")
		return
	}
	l.csv(n, file)
}

func (l *loader) machine(n ast.Node) {
	m := l.base
	row := rowInfo{pos: l.at(n), keys: map[string]profiles.Position{}}
	if _, ok := n.(*ast.MappingNode); !ok {
		if _, ok := n.(*ast.MappingValueNode); !ok {
			l.problem(n, "a machine must be keys and values, such as {name: r12u07, bmc: 10.0.12.7}")
			return
		}
	}
	l.fields(n, "a machine", l.shared(&m, &row.keys, &row.expect))
	l.take(m, row)
}

func (l *loader) take(m Machine, row rowInfo) {
	m.Profile, m.Spec = or(m.Profile, l.batch.Profile), or(m.Spec, l.batch.Spec)
	m.Poll = l.batch.Limits.Poll
	for _, r := range []*Ref{&m.Login.User, &m.Login.Password, &m.Login.New, &m.SSH.Key} {
		*r = l.fromHere(r.of(m.Name))
	}
	m.MAC, m.UUID = strings.ToLower(m.MAC), strings.ToLower(m.UUID)
	l.batch.Machines = append(l.batch.Machines, m)
	l.rows = append(l.rows, row)
}

// csvColumns are the columns of a machine list. Secrets stand in columns of
// their own and are read when they are needed, never kept.
var csvColumns = []string{"name", "bmc", "serial", "uuid", "rack", "u", "pdus", "mac", "host", "system", "via", "profile", "spec", "bmc_protocol", "bmc_user", "bmc_password", "bmc_new_password", columnBMCAddress, columnBMCName}

func (l *loader) csv(n ast.Node, file string) {
	path := l.path(file)
	f, err := os.Open(path)
	if err != nil {
		l.problem(n, "machine list: %v", err)
		return
	}
	defer func() { _ = f.Close() }()
	rows := csv.NewReader(f)
	rows.TrimLeadingSpace = true
	head, err := rows.Read()
	if err != nil {
		l.add(profiles.Position{File: path}, "machine list has no first line with column names: %v", err)
		return
	}
	for i, column := range head {
		if !slices.Contains(csvColumns, column) {
			line, col := rows.FieldPos(i)
			l.add(profiles.Position{File: path, Line: line, Column: col}, "unknown column %q%s", column, didYouMean(column, csvColumns))
		}
	}
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.csvError(path, err)
			return
		}
		l.csvRow(path, head, cells, rows.FieldPos)
	}
}

func (l *loader) csvError(path string, err error) {
	pos := profiles.Position{File: path}
	if pe, ok := errors.AsType[*csv.ParseError](err); ok {
		pos.Line, pos.Column = pe.Line, pe.Column
		err = pe.Err
	}
	l.add(pos, "%v", err)
}

func (l *loader) csvRow(path string, head, cells []string, where func(int) (int, int)) {
	m := l.base
	line, col := where(0)
	row := rowInfo{pos: profiles.Position{File: path, Line: line, Column: col}, keys: map[string]profiles.Position{}}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		line, col := where(i)
		row.keys[head[i]] = profiles.Position{File: path, Line: line, Column: col}
		if cell == "" {
			continue
		}
		if err := setColumn(&m, head[i], cell, path); err != nil {
			l.add(row.keys[head[i]], "%v", err)
		}
	}
	l.take(m, row)
}

func setColumn(m *Machine, column, cell, path string) error {
	words := map[string]*string{
		"name": &m.Name, "bmc": &m.BMC, "serial": &m.Serial, "uuid": &m.UUID, "rack": &m.Rack, "mac": &m.MAC,
		"host": &m.Host, "system": &m.System, "via": &m.Via, "profile": &m.Profile, "spec": &m.Spec,
	}
	switch column {
	case "u":
		u, err := strconv.Atoi(strings.TrimLeft(cell, "Uu"))
		if err != nil || u < 1 {
			return fmt.Errorf("u %q: want the number of the lowest rack unit", cell)
		}
		m.U = u
	case "pdus":
		m.PDUs = strings.Fields(cell)
	case "bmc_protocol":
		p, err := ParseProtocol(cell)
		m.Login.Protocol = p
		return err
	case columnBMCAddress, columnBMCName:
		return setNetworkColumn(m, column, cell)
	case "bmc_user":
		m.Login.User = Ref("csv:" + path + "#bmc_user")
	case "bmc_password":
		m.Login.Password = Ref("csv:" + path + "#bmc_password")
	case "bmc_new_password":
		m.Login.New = Ref("csv:" + path + "#bmc_new_password")
	default:
		if to := words[column]; to != nil {
			*to = cell
		}
	}
	return nil
}
