package watch

import (
	"io"
	"log"
	"net"
	"sync"
)

// quiet swallows what net/http says of broken connections: anybody can make those.
var quiet = log.New(io.Discard, "", 0)

// limited is a listener with so many connections at most; the next one waits outside.
type limited struct {
	net.Listener
	slots chan struct{}
	ended chan struct{}
	once  sync.Once
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, most), ended: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.ended:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slot{Conn: c, give: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// slot is a connection that gives its place back.
type slot struct {
	net.Conn
	give func()
}

func (s *slot) Close() error {
	defer s.give()
	return s.Conn.Close()
}
