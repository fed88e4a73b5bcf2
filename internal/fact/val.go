package fact

import "encoding/json"

// Val is a fact that may be unknown. Its zero value is unknown and its JSON is null.
type Val[T any] struct {
	v  T
	ok bool
}

// Some returns a known value.
func Some[T any](v T) Val[T] { return Val[T]{v, true} }

// Get returns the value and whether it is known.
func (x Val[T]) Get() (T, bool) { return x.v, x.ok }

// Known reports whether the value is known.
func (x Val[T]) Known() bool { return x.ok }

// Or returns the value, or other when it is unknown.
func (x Val[T]) Or(other T) T {
	if x.ok {
		return x.v
	}
	return other
}

// MarshalJSON writes null for unknown.
func (x Val[T]) MarshalJSON() ([]byte, error) {
	if !x.ok {
		return []byte("null"), nil
	}
	return json.Marshal(x.v)
}

// UnmarshalJSON reads null as unknown.
func (x *Val[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = Val[T]{}
		return nil
	}
	x.ok = true
	return json.Unmarshal(b, &x.v)
}
