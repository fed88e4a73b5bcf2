package journal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock takes the node for one weft, waiting as long as it is told to. The kernel gives
// it back when the process ends, however that happens.
func (j *Journal) lock(wait time.Duration) (*os.File, error) {
	dir := j.path(home)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(dir, err)
	}
	f, err := os.OpenFile(dir+"/lock", os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	for end := time.Now().Add(wait); ; time.Sleep(100 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end) {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, j.busy()
			}
			return nil, fmt.Errorf("%s/lock: %w", dir, err)
		}
	}
}

// busy says who has the node.
func (j *Journal) busy() error {
	if err := j.free(); err != nil {
		return err
	}
	return &Refused{What: "another weft is changing this node right now"}
}
