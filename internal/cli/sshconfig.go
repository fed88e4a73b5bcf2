package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"weft/internal/spec"
)

// sshFrom settles which ssh configuration is used: --ssh-config, else ssh_config of
// weft.yaml, found from the folder that weft.yaml is in.
func (a *app) sshFrom(want spec.Spec, folder string) error {
	switch {
	case a.sshConfig != "":
		return a.sshFlag()
	case want.SSHConfig == "":
		return nil
	}
	path := want.SSHConfig
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return fail("", "weft.yaml: ssh_config: %s: %v", path, err)
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if err := readable(path); err != nil {
		file := a.config
		if file == "" {
			file = "weft.yaml"
		}
		return fail("$EDITOR "+shellWord(file), "%s: ssh_config: %s: %v\nweft gives this file to ssh; without the key it uses your own configuration", file, path, plain(err))
	}
	a.sshConfig = path
	return nil
}

// sshFlag wants the file of --ssh-config to be there: ssh would say so once for
// every node.
func (a *app) sshFlag() error {
	if a.sshConfig == "" {
		return nil
	}
	if err := readable(a.sshConfig); err != nil {
		return fail("weft help", "--ssh-config %s: %v", a.sshConfig, plain(err))
	}
	return nil
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a folder")
	}
	return err
}

// besideSpec is the file of --ssh-config as weft.yaml should name it: relative to
// weft.yaml's own folder, if the person gave a relative path.
func (a *app) besideSpec(file string) string {
	if a.sshConfig == "" || filepath.IsAbs(a.sshConfig) {
		return a.sshConfig
	}
	conf, err := filepath.Abs(a.sshConfig)
	if err != nil {
		return a.sshConfig
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return conf
	}
	rel, err := filepath.Rel(folder, conf)
	if err != nil {
		return conf
	}
	return rel
}
