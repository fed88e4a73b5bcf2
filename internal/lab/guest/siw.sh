# Builds siw.ko for the kernel KERNEL in the folder DIR, from Debian's packages, which
# are unpacked and not installed.
set -eu
cd "$DIR"
base=${KERNEL%-*}
series=$(echo "$KERNEL" | cut -d. -f1-2)
apt-get -q -o APT::Sandbox::User=root download "linux-headers-$KERNEL" "linux-headers-$base-common" "linux-kbuild-$series" "linux-source-$series"
for deb in *.deb; do dpkg-deb -x "$deb" tree; rm "$deb"; done
tar xf "tree/usr/src/linux-source-$series.tar.xz" --strip-components 4 "linux-source-$series/drivers/infiniband/sw/siw"
find tree/usr/src -name Makefile -exec sed -i "s|/usr/src/linux-headers|$DIR/tree/usr/src/linux-headers|g" {} +
sed -i 's/\$(CONFIG_RDMA_SIW)/m/' siw/Makefile
make -C "tree/usr/src/linux-headers-$KERNEL" M="$DIR/siw" modules
strip --strip-debug siw/siw.ko
mv siw/siw.ko .
rm -r tree siw
